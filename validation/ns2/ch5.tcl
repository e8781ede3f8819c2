# Chapter 5 of Chen's thesis (tables 5-1 to 5-5): long NewReno flows without ECN over Adaptive RED or PI,
# with HTTP or UDP in two of them. The script is ch6.tcl's with other values.
#
# Printed: 100 flows, 10 Mb/s, a round trip of 100 ms, packets of 500 B, a buffer of 500 packets; ARED with
# weight 5e-5 and interval 0.5 s; PI with ns-2's coefficients at 170 Hz.
# Ours, as in papers/st-red: 20 ms of the round trip lie on the access links, no reverse flows, starts
# within 10 s, RED's drops spaced without `wait_`.
set preset {
    n 100 sessions 0 rate 10e6 limit 500 delay 0.04 low 0.01 high 0.01 minth 20 maxth 60 interval 0.5
    a 1.822e-5 b 1.816e-5 reference 40 ecn 0 warm 0 piece 200
}
source [file join [file dirname [info script]] ch6.tcl]
