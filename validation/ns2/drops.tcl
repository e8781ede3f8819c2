# One flow that loses chosen packets: what each sender sends, packet by packet.
#
#   ns drops.tcl tcp sack drop "10 60" stop 3
#
# 10 Mb/s, 100 ms, packets of 1000 B (0.8 ms each), no other traffic. "drop" lists
# packets by their order of sending (0 is the SYN), retransmissions included.
# Slow start is unlimited at first: an early loss (here the tenth packet) ends it,
# and the second loss is the one to look at.
# Output on stderr: "time sequence cwnd ssthresh" at each send, the sequence marked
# R when it was sent before.
source [file join [file dirname [info script]] lib.tcl]
defaults tcp sack size 1000 drop {} stop 3 warm 0
read_options
apply_settings
seed_streams
set ns [new Simulator]

set a [$ns node]
set b [$ns node]
set c [$ns node]
$ns duplex-link $a $b 10e6 0.025 DropTail
$ns duplex-link $b $c 10e6 0.025 DropTail
foreach {x y} [list $a $b $b $a $b $c $c $b] { $ns queue-limit $x $y 1000 }
lassign [flow $a $c 0.0 0] agent sink
set model [new ErrorModel/List]
$model unit pkt
$model droplist $opt(drop)
$model drop-target [new Agent/Null]
$ns lossmodel $model $a $b
$ns trace-queue $a $b [set raw [open [format /tmp/drops.%d [pid]] w]]
set windows {}
proc note {} {
    global ns agent windows
    lappend windows [$ns now] [$agent set cwnd_] [$agent set ssthresh_]
    $ns at [expr {[$ns now] + 0.0002}] note
}
$ns at 0.00001 note
$ns at $opt(stop) finish_drops
proc finish_drops {} {
    global ns raw windows
    $ns flush-trace
    close $raw
    set file [open [format /tmp/drops.%d [pid]]]
    set k 0
    while {[gets $file line] >= 0} {
        if {[lindex $line 0] ne "+"} continue
        set time [lindex $line 1]
        set seq [lindex $line 10]
        while {$k + 3 < [llength $windows] && [lindex $windows $k] < $time} { incr k 3 }
        set again [expr {[info exists sent($seq)] ? "R" : ""}]
        set sent($seq) 1
        puts stderr [format "%8.4f %4d%s  cwnd %.3f ssthresh %d" $time $seq $again \
            [lindex $windows [expr {$k + 1}]] [lindex $windows [expr {$k + 2}]]]
    }
    file delete [format /tmp/drops.%d [pid]]
    exit 0
}
$ns run
