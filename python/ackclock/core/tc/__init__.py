"""
Queues as `tc` has them: its commands and its output read into a scenario's queues, and written from them.

`records` reads lines, `kinds` knows the words of each queueing discipline, `trees` puts qdiscs, classes and filters
together and takes them apart; `sqm` and `libreqos` read what others configure.

Sources: iproute2 6.1 (tc/) and its manual pages tc(8), tc-htb(8), tc-hfsc(8), tc-prio(8), tc-ets(8), tc-tbf(8),
tc-cake(8), tc-fq_codel(8) and so on; what tc of that version prints on Linux 6.1.
"""
