# The reference runs of ns2.rs, for ns-2 2.35: ns ns2.tcl seed 1 load 0.95 [option value ...]
# Prints the fraction of packets dropped and the mean number of packets that wait, over 4000 s or as many as asked for.
# Cases of ns2.rs: (none) | wait false | w -1 | bytes true mean 500 min 10 max 30 | bytes true | bytes true wait false | gentle false | adaptive 1 | kind PI |
# kind REM seconds 1000 | kind Vq seconds 1000

proc option {name default} {
    global argv
    foreach {key value} $argv { if {$key eq $name} { return $value } }
    return $default
}

set ns [new Simulator]
set load [option load 0.95]
set kind [option kind RED]
set duration [option seconds 4000]
set random [new RNG]
$random seed [option seed 1]
$defaultRNG seed [expr [option seed 1] + 100]
Queue/RED set bytes_ [option bytes false]
Queue/RED set queue_in_bytes_ [option bytes false]
Queue/RED set mean_pktsize_ [option mean 1000]
Queue/RED set thresh_ [option min 5]
Queue/RED set maxthresh_ [option max 15]
Queue/RED set q_weight_ [option w 0.002]
Queue/RED set wait_ [option wait true]
Queue/RED set gentle_ [option gentle true]
Queue/RED set adaptive_ [option adaptive 0]
Queue/REM set gamma_ 0.01
Queue/REM set phi_ 1.01
Queue/REM set pbo_ 20
Queue/PI set a_ 0.0002
Queue/PI set b_ 0.00019
Queue/PI set qref_ 10

foreach node {source router sink} { set $node [$ns node] }
$ns simplex-link $source $router 1000Mb 0.001ms DropTail
$ns queue-limit $source $router 1000000
$ns simplex-link $router $sink 8Mb 10ms $kind
$ns queue-limit $router $sink 60
set monitor [$ns monitor-queue $router $sink ""]
foreach size {500 1500} {
    set agent [new Agent/UDP]
    $agent set packetSize_ 3000
    $ns attach-agent $source $agent
    set null [new Agent/Null]
    $ns attach-agent $sink $null
    $ns connect $agent $null
    # bursts of no length: a Poisson stream
    set traffic [new Application/Traffic/Exponential]
    $traffic set packetSize_ $size
    $traffic set burst_time_ 0
    $traffic set idle_time_ [expr 1.0 / (500.0 * $load)]
    $traffic set rate_ 100000Mb
    $traffic use-rng $random
    $traffic attach-agent $agent
    $ns at 0.0 "$traffic start"
}
proc finish {} {
    global monitor duration
    set dropped [expr double([$monitor set pdrops_]) / [$monitor set parrivals_]]
    set queue [expr [[$monitor get-pkts-integrator] set sum_] / $duration]
    puts "dropped $dropped queue $queue"
    exit 0
}
$ns at $duration finish
$ns run
