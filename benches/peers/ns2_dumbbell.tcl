# The dumbbell of the benchmarks on ns-2, with no monitor, trace or probe: what is counted are the link's own departures, read once at the end from
# the bottleneck's queue monitor of packets (ns-2 has no cheaper counter).
# Options as "name value" pairs; prints one line of JSON without its CPU time, which the caller measures.
array set opt {flows 10 rate 100e6 limit 333 access 1e9 low 0.038 high 0.042 link_delay 0.01 starts 1 stop 20
    red 0 min_threshold 50 max_threshold 100 compound 0 seed 1}
foreach {name value} $argv {
    if {![info exists opt($name)]} { puts stderr "unknown option $name"; exit 2 }
    set opt($name) $value
}
set draws [new RNG]
for {set i 0} {$i < $opt(seed)} {incr i} { $draws next-substream; $defaultRNG next-substream }

Agent/TCP set window_ 1000000
Agent/TCP set minrto_ 0.2
Agent/TCP/Linux set minrto_ 0.2
Agent/TCP set packetSize_ 1460
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

set left [$ns node]
set right [$ns node]
if {$opt(red)} {
    Queue/RED set thresh_ $opt(min_threshold)
    Queue/RED set maxthresh_ $opt(max_threshold)
    Queue/RED set mean_pktsize_ 1500
    $ns simplex-link $left $right $opt(rate) $opt(link_delay) RED
} else {
    $ns simplex-link $left $right $opt(rate) $opt(link_delay) DropTail
}
$ns simplex-link $right $left $opt(rate) $opt(link_delay) DropTail
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 100000
set monitor [$ns monitor-queue $left $right ""]

for {set i 0} {$i < $opt(flows)} {incr i} {
    set source [$ns node]
    set target [$ns node]
    set side [expr {([$draws uniform $opt(low) $opt(high)] - 2 * $opt(link_delay)) / 4}]
    foreach {a b} [list $source $left $right $target] {
        $ns duplex-link $a $b $opt(access) $side DropTail
        $ns queue-limit $a $b 10000
        $ns queue-limit $b $a 10000
    }
    if {$opt(compound)} {
        set agent [new Agent/TCP/Linux]
        $agent select_ca compound
    } else {
        set agent [new Agent/TCP/Sack1]
    }
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $source $agent
    $ns attach-agent $target $sink
    $ns connect $agent $sink
    set application [new Application/FTP]
    $application attach-agent $agent
    $ns at [$draws uniform 0 $opt(starts)] "$application start"
}
$ns at $opt(stop) {
    puts [format {{"packets": %.0f, "drops": %.0f}} [$monitor set pdepartures_] [$monitor set pdrops_]]
    exit 0
}
$ns run
