# S6: 10 flows over a 100 Mb/s RED link at 100 ms, with 1 Gb/s access links: wide
# enough windows (about 90 packets) for Compound's delay window to act.
#
# Given: 10 flows, 100 ms, 1 Gb/s access, RED 50/100 with mean_pktsize 1500 in
# ns-2's default byte mode, Compound or Reno of the Linux-derived agent.
# Ours: topology, delays, starts, buffer (2084 packets), 100 s and the last 25 s
# measured, all as in s1.tcl, whose script this one is with other values.
source [file join [file dirname [info script]] lib.tcl]
set preset {rtt 0.1 flows 10 access 1e9}
source [file join [file dirname [info script]] s1.tcl]
