# S5: N SACK flows over a 100 Mb/s drop-tail link, 40 ms, buffer 333 packets.
#
# Given: 100 Mb/s, buffer 1 bandwidth-delay product = 333 packets, propagation
# round trip uniform in 38-42 ms, 1 Gb/s access, 60 s of which 20-60 s measured.
# ns-2's drop-tail refuses a packet when that would make the waiting line reach
# the limit, so at most 332 wait.
# Ours: packets of 1500 B, starts uniform in [0, 1] s, half of the round trip on
# the bottleneck and a quarter on each access side (`delay`: on the bottleneck, each way).
source [file join [file dirname [info script]] lib.tcl]
defaults tcp sack n 10 rate 100e6 limit 333 access 1e9 low 0.038 high 0.042 \
    starts 1 stop 60 warm 20 queue DropTail delay 0.01
read_options
apply_settings
seed_streams
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $opt(rate) $opt(delay) $opt(queue)
$ns simplex-link $right $left $opt(rate) $opt(delay) DropTail
prepare_queue $left $right
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 10000
monitor_link $left $right $opt(rate)

set flows {}
for {set i 0} {$i < $opt(n)} {incr i} {
    set source [$ns node]
    set target [$ns node]
    set side [expr {([uniform $opt(low) $opt(high)] - 2 * $opt(delay)) / 4}]
    access $source $left $opt(access) $side
    access $right $target $opt(access) $side
    lappend flows [flow $source $target [uniform 0 $opt(starts)] $i]
}
run_and_report $opt(n)
