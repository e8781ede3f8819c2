# S4: 100 SACK flows started together over a 1 Gb/s RED link with
# p = 1e-4 (avg - 200). The packet set-up of Wang, Cai, Liu and Shen's report on AIMD
# flows with RED, TCP case.
#
# Given: 1 Gb/s, 1250 byte packets, 100 flows started within 10 ms, round trip
# 100 ms +- 1 ms, p = Kp (avg - 200) with Kp 1e-4, weight 0.002.
# Ours: RED in packet mode with thresholds 200 and 10200 and max_p 1, the line
# asked for; buffer 20000 packets, never full; the round trip uniform in its range, half
# of it on the bottleneck; 1 Gb/s access links; 60 s, measured 30-60 s.
# Senders increase by `alpha` and reduce to `beta`, to a half in slow start, as ns-2 has it; `others` flows
# beside them have `alpha2` and `beta2`.
source [file join [file dirname [info script]] lib.tcl]
defaults tcp sack size 1250 n 100 rate 1e9 kp 1e-4 minth 200 qw 0.002 \
    low 0.099 high 0.101 access 1e9 starts 0.01 limit 20000 stop 60 warm 30 accbuf 10000 bytes 0 \
    alpha 1 beta 0.5 others 0 alpha2 0.2 beta2 0.875 bottleneck 0.025
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

set left [$ns node]
set right [$ns node]
Queue/RED set bytes_ $opt(bytes)
Queue/RED set queue_in_bytes_ $opt(bytes)
Queue/RED set mean_pktsize_ $opt(size)
Queue/RED set thresh_ $opt(minth)
Queue/RED set maxthresh_ [expr {$opt(minth) + 1.0 / $opt(kp)}]
Queue/RED set linterm_ 1
Queue/RED set q_weight_ $opt(qw)
$ns simplex-link $left $right $opt(rate) $opt(bottleneck) RED
$ns simplex-link $right $left $opt(rate) $opt(bottleneck) DropTail
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 100000
monitor_link $left $right $opt(rate)

set flows {}
set all [expr {$opt(n) + $opt(others)}]
for {set i 0} {$i < $all} {incr i} {
    set source [$ns node]
    set target [$ns node]
    set side [expr {([uniform $opt(low) $opt(high)] - 2 * $opt(bottleneck)) / 4}]
    access $source $left $opt(access) $side
    access $right $target $opt(access) $side
    set made [flow $source $target [uniform 0 $opt(starts)] $i]
    lassign [expr {$i < $opt(n) ? [list $opt(alpha) $opt(beta)] : [list $opt(alpha2) $opt(beta2)]}] up down
    [lindex $made 0] set increase_num_ $up
    [lindex $made 0] set decrease_num_ $down
    lappend flows $made
}
set opt(split) $opt(n)
run_and_report $all
