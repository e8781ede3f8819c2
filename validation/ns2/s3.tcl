# S3: 100 NewReno flows over a 10 Mb/s link with Adaptive RED, 20 flows the other
# way over the same kind of queue. The base setting of chapter 5 of Chen's thesis
# on statistical tuning of RED, at a 100 ms round trip.
#
# Given: 100 forward and 20 reverse long transfers, 10 Mb/s, d = 100 ms, 500 byte
# packets, buffer 500 packets, ARED 20/60 in byte mode, weight 5e-5, interval
# 0.5 s, no ECN; 200 s, measured 100-200 s; the same ARED on the reverse link.
# Ours: the whole packet has 500 B (460 + 40); mean_pktsize 500; the bottleneck
# takes 40 ms of the 50 ms one way and each access link 5 ms; access links of
# 100 Mb/s; starts uniform in [0, 10] s.
source [file join [file dirname [info script]] lib.tcl]
defaults tcp newreno size 500 n 100 reverse 20 rate 10e6 limit 500 minth 20 maxth 60 \
    meanpkt 500 qw 5e-5 interval 0.5 delay 0.04 access 100e6 side 0.005 jitter 0 \
    starts 10 stop 200 warm 100 adaptive 1
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

set left [$ns node]
set right [$ns node]
Queue/RED set thresh_ $opt(minth)
Queue/RED set maxthresh_ $opt(maxth)
Queue/RED set mean_pktsize_ $opt(meanpkt)
Queue/RED set q_weight_ $opt(qw)
Queue/RED set adaptive_ $opt(adaptive)
Queue/RED set interval_ $opt(interval)
$ns duplex-link $left $right $opt(rate) $opt(delay) RED
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left $opt(limit)
monitor_link $left $right $opt(rate)

set flows {}
for {set i 0} {$i < $opt(n) + $opt(reverse)} {incr i} {
    set west [$ns node]
    set east [$ns node]
    foreach {node router} [list $west $left $east $right] {
        access $node $router $opt(access) \
            [expr {$opt(side) * [uniform [expr {1 - $opt(jitter)}] [expr {1 + $opt(jitter)}]]}]
    }
    if {$i < $opt(n)} { set from $west; set to $east } else { set from $east; set to $west }
    lappend flows [flow $from $to [uniform 0 $opt(starts)] $i]
}
run_and_report $opt(n)
