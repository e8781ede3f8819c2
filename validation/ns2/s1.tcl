# S1: 60 Compound flows behind 2 Mb/s access links over a 100 Mb/s RED link.
# The packet set-up of Manjunath and Raina's study of Compound TCP with RED.
#
# From the paper: 60 flows, 2 Mb/s access, 100 Mb/s bottleneck, 1500 byte packets,
# buffer 2084 packets, starts uniform in [0, 10] s, RED 50/100 with linterm 10 and
# the automatic weight, measured over the last 25 s.
# `rtts` is a list of round trips that the flows take in turn, `rtt` their mean.
# Ours: 100 s instead of 500 s; mean_pktsize 1500 with ns-2's default byte mode;
# the reverse direction is an ample drop-tail queue for ACKs.
#   - rtt is the propagation round trip. Half of it lies on the bottleneck (rtt/4
#     each way), a quarter on each access side (rtt/8 each way).
#   - each access delay is drawn uniformly within +-20 %, independently at both
#     ends, so a flow's rtt spreads triangularly over +-10 %.
#   - access links of 2 Mb/s at both ends, drop-tail (accbuf packets).
#   - accbuf 1000 packets. It matters to native agents, not to the Linux-derived
#     one: see SEMANTICS.md on lock-out.
#   - timestamps on; nothing in S1 changes without them.
source [file join [file dirname [info script]] lib.tcl]
defaults rtt 0.01 flows 60 access 2e6 rate 100e6 limit 2084 minth 50 maxth 100 \
    meanpkt 1500 jitter 0.2 starts 10 rxaccess 1 queue RED rtts {}
if {[info exists preset]} { array set opt $preset }
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
$ns simplex-link $left $right $opt(rate) [expr {$opt(rtt) / 4}] $opt(queue)
$ns simplex-link $right $left $opt(rate) [expr {$opt(rtt) / 4}] DropTail
prepare_queue $left $right
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 10000
monitor_link $left $right $opt(rate)

# What a flow's base round trip has beside the bottleneck's, in four parts.
proc side_delay {i} {
    global opt
    set rtt $opt(rtt)
    if {[llength $opt(rtts)]} {
        set rtt [expr {2 * ([lindex $opt(rtts) [expr {$i % [llength $opt(rtts)]}]] - $opt(rtt) / 2)}]
    }
    return [expr {$rtt / 8 * [uniform [expr {1 - $opt(jitter)}] [expr {1 + $opt(jitter)}]]}]
}

set flows {}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set source [$ns node]
    set target [$ns node]
    access $source $left $opt(access) [side_delay $i]
    access $right $target [expr {$opt(rxaccess) ? $opt(access) : 1e9}] [side_delay $i]
    lappend flows [flow $source $target [uniform 0 $opt(starts)] $i]
}
run_and_report $opt(flows)
