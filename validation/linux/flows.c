// flows: endless TCP flows from namespace "s" to namespace "d", and what becomes of them and of the queue in namespace "r".
// It runs inside the guest, alone, in one thread, so that virtual time goes only by what the kernel does.
//
//   -n FLOWS -c CONGESTION -t SECONDS -w SECONDS_LEFT_OUT -u FROM:SPAN (starts, s, uniform, drawn from -s SEED)
//   -h HOSTS (sending addresses, 10.0.9.1 and on, to which flows are dealt in turn)
//   -d (prints "FLOW number goodput_mbps rtt_ms" for each, its smoothed round trip looked at each 0.1 s)
//   -c may be several, CONGESTION:CONGESTION:..., and -a PLACE:PLACE:... says the hosts in place of -h; flows take them in turn
//   -q DEVICE:HANDLE (of the queue) -e (ECN) -i SAMPLE_MS -l LOW_WATER_MARK_OF_THE_RECEIVERS -o TRACE_FILE -f (trace flows too)
//
// System calls are what a run of the guest costs (each is a switch between two processes of the host), so it makes few.
//
// Prints one line "RESULT key=value ...", or one "FAILED why".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 1024
#define RECEIVER "10.0.2.2"

static void die(const char *what)
{
	printf("FAILED %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/run/netns/%s", name);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static void set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", name);
	int fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die(path);
	close(fd);
}

// One segment is one packet: no offloads at a device of this namespace.
static void plain(const char *name)
{
	static const unsigned offloads[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (unsigned i = 0; i < sizeof offloads / sizeof *offloads; i++) {
		struct ethtool_value off = { .cmd = offloads[i] };
		struct ifreq ask = { .ifr_data = (void *)&off };
		strcpy(ask.ifr_name, name);
		if (ioctl(fd, SIOCETHTOOL, &ask))
			die(name);
	}
	close(fd);
}

static void endpoint(int ecn)
{
	set("tcp_no_metrics_save", "1");
	set("tcp_ecn", ecn ? "1" : "0");
	set("tcp_rmem", "4096 4194304 16777216");
	set("tcp_wmem", "4096 1048576 16777216");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

// splitmix64, in [0, 1)
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

struct queue {
	unsigned packets, bytes, drops, marks, sent;
	uint64_t sent_bytes;
};

static int netlink, device;
static unsigned handle;

static void read_marks(const char *kind, const void *data, struct queue *q)
{
	if (!strcmp(kind, "red"))
		q->marks = ((const struct tc_red_xstats *)data)->marked;
	else if (!strcmp(kind, "pie"))
		q->marks = ((const struct tc_pie_xstats *)data)->ecn_mark;
	else if (!strcmp(kind, "codel"))
		q->marks = ((const struct tc_codel_xstats *)data)->ecn_mark;
	else if (!strcmp(kind, "fq_codel"))
		q->marks = ((const struct tc_fq_codel_xstats *)data)->qdisc_stats.ecn_mark;
}

static struct queue read_queue(void)
{
	static char buffer[65536];
	struct {
		struct nlmsghdr header;
		struct tcmsg tc;
	} ask = {
		.header = { .nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO },
		.tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = device, .tcm_handle = handle },
	};
	struct queue q = { 0 };

	if (send(netlink, &ask, sizeof ask, 0) < 0 || recv(netlink, buffer, sizeof buffer, 0) <= 0)
		die("queue");
	struct nlmsghdr *answer = (void *)buffer;
	if (answer->nlmsg_type == NLMSG_ERROR)
		die("no such queue");
	struct rtattr *a = TCA_RTA(NLMSG_DATA(answer));
	int left = TCA_PAYLOAD(answer);
	const char *kind = "";
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_KIND)
			kind = RTA_DATA(a);
		if (a->rta_type != TCA_STATS2)
			continue;
		struct rtattr *s = RTA_DATA(a);
		int rest = RTA_PAYLOAD(a);
		for (; RTA_OK(s, rest); s = RTA_NEXT(s, rest)) {
			if (s->rta_type == TCA_STATS_QUEUE) {
				const struct gnet_stats_queue *g = RTA_DATA(s);
				q.packets = g->qlen;
				q.bytes = g->backlog;
				q.drops = g->drops;
			} else if (s->rta_type == TCA_STATS_BASIC) {
				const struct gnet_stats_basic *g = RTA_DATA(s);
				q.sent_bytes = g->bytes;
				q.sent = g->packets;
			} else if (s->rta_type == TCA_STATS_APP) {
				read_marks(kind, RTA_DATA(s), &q);
			}
		}
	}
	return q;
}

// A counter of /proc/net/netstat, whose lines of names and of values alternate; of this thread's namespace.
static long counter(const char *name)
{
	static char names[8192], values[8192];
	FILE *file = fopen("/proc/thread-self/net/netstat", "r");

	if (!file)
		die("netstat");
	while (fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
		char *n, *v, *a = strtok_r(names, " \n", &n), *b = strtok_r(values, " \n", &v);
		for (; a && b; a = strtok_r(0, " \n", &n), b = strtok_r(0, " \n", &v))
			if (!strcmp(a, name)) {
				fclose(file);
				return atol(b);
			}
	}
	die(name);
	return 0;
}

static struct tcp_info info(int fd)
{
	struct tcp_info i = { 0 };
	socklen_t length = sizeof i;

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &length);
	return i;
}

static void add(int epoll, unsigned events, uint64_t tag, int fd)
{
	struct epoll_event e = { .events = events, .data.u64 = tag };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
		die("epoll");
}

// The entry of "a:b:c" that is number i's, in turn.
static const char *dealt(const char *list, int i)
{
	static char entry[64];
	int count = 1;

	for (const char *c = list; *c; c++)
		count += *c == ':';
	for (i %= count; i > 0; i--)
		list = strchr(list, ':') + 1;
	snprintf(entry, sizeof entry, "%.*s", (int)strcspn(list, ":"), list);
	return entry;
}

enum { LISTENER = 1, RECEIVING };
#define TAG(what) ((uint64_t)(what) << 32)

int main(int argc, char **argv)
{
	int flows = 1, interval = 10, low = 0, trace_flows = 0, ecn = 0, hosts = 0, option;
	double duration = 10, left_out = 0, from = 0, span = 0;
	uint64_t seed = 1;
	const char *congestion = "reno", *output = 0, *places = 0;
	int detail = 0;
	char *queue_name = 0;

	while ((option = getopt(argc, argv, "n:c:t:w:u:s:q:ei:l:o:fh:da:")) > 0)
		switch (option) {
		case 'n': flows = atoi(optarg); break;
		case 'c': congestion = optarg; break;
		case 't': duration = atof(optarg); break;
		case 'w': left_out = atof(optarg); break;
		case 'u': sscanf(optarg, "%lf:%lf", &from, &span); break;
		case 's': seed = strtoull(optarg, 0, 0); break;
		case 'q': queue_name = optarg; break;
		case 'e': ecn = 1; break;
		case 'i': interval = atoi(optarg); break;
		case 'l': low = atoi(optarg); break;
		case 'o': output = optarg; break;
		case 'f': trace_flows = 1; break;
		case 'h': hosts = atoi(optarg); break;
		case 'd': detail = 1; break;
		case 'a': places = optarg; break;
		default: return 2;
		}
	char *colon = queue_name ? strchr(queue_name, ':') : 0;
	if (!colon || flows < 1 || flows > MOST)
		return 2;
	*colon = 0;
	handle = strtoul(colon + 1, 0, 16) << 16;
	FILE *trace = output ? fopen(output, "w") : 0;
	if (output && !trace)
		die(output);

	enter("r");
	set("ip_forward", "1");
	plain("r0");
	plain("r1");
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	device = if_nametoindex(queue_name);

	enter("d");
	endpoint(ecn);
	plain("d0");
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(5001) };
	inet_aton(RECEIVER, &address.sin_addr);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (low)
		setsockopt(listener, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
	// DCTCP's echo of marks is the receiver's, which takes it from its listener
	const char *echo = dealt(congestion, 0);
	if (setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, echo, strlen(echo)) ||
	    bind(listener, (void *)&address, sizeof address) || listen(listener, MOST))
		die("listen");

	enter("s");
	endpoint(ecn);
	plain("s0");
	int epoll = epoll_create1(0);
	add(epoll, EPOLLIN, TAG(LISTENER), listener);
	static int fd[MOST];
	static double start[MOST];
	static uint64_t acked[MOST];
	static unsigned resent[MOST];
	static double trips[MOST];
	static char payload[65536];
	for (int i = 0; i < flows; i++) {
		double at = from + span * uniform(&seed);
		int j = i; // in the order of their starts
		for (; j > 0 && start[j - 1] > at; j--)
			start[j] = start[j - 1];
		start[j] = at;
	}

	double begin = now(), since = 0, tick = 1e-3 * interval, next = tick, sum = 0, squares = 0;
	long samples = 0, timeouts = 0, probes = 0, looks = 0;
	int started = 0, warm = 0;
	struct queue first = { 0 }, last = { 0 };
	struct epoll_event events[64];
	for (;;) {
		double t = now() - begin;
		if (t >= duration)
			break;
		while (started < flows && start[started] <= t) {
			int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), unsent = 131072;
			const char *own = dealt(congestion, started);
			if (s < 0 || setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, own, strlen(own)))
				die("TCP_CONGESTION");
			setsockopt(s, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
			if (hosts || places) {
				struct sockaddr_in own = { .sin_family = AF_INET };
				own.sin_addr.s_addr = htonl(0x0a000901 + (places ? atoi(dealt(places, started)) : started % hosts));
				if (bind(s, (void *)&own, sizeof own))
					die("bind");
			}
			if (connect(s, (void *)&address, sizeof address) && errno != EINPROGRESS)
				die("connect");
			fd[started] = s;
			add(epoll, EPOLLOUT, started, s);
			started++;
		}
		if (t >= next) {
			next = (floor(t / tick) + 1) * tick;
			last = read_queue();
			if (trace)
				fprintf(trace, "q,%.6f,%u,%u,%u,%u\n", t, last.packets, last.bytes, last.drops, last.marks);
			if (t >= left_out && !warm) {
				warm = 1;
				since = t;
				first = last;
				timeouts = counter("TCPTimeouts");
				probes = counter("TCPLossProbes");
				for (int i = 0; i < started; i++) {
					struct tcp_info f = info(fd[i]);
					acked[i] = f.tcpi_bytes_acked;
					resent[i] = f.tcpi_total_retrans;
				}
			} else if (warm) {
				samples++;
				sum += last.packets;
				squares += (double)last.packets * last.packets;
				if (detail && samples % 10 == 0) {
					looks++;
					for (int i = 0; i < started; i++)
						trips[i] += 1e-3 * info(fd[i]).tcpi_rtt;
				}
			}
			for (int i = 0; trace && trace_flows && i < started; i++) {
				struct tcp_info f = info(fd[i]);
				fprintf(trace, "f,%.6f,%d,%u,%u,%u,%u,%u,%llu\n", t, i, f.tcpi_snd_cwnd, f.tcpi_snd_ssthresh, f.tcpi_rtt,
					f.tcpi_unacked, f.tcpi_ca_state, (unsigned long long)f.tcpi_bytes_acked);
			}
		}
		// to the next sample or start
		double until = started < flows && start[started] < next ? start[started] : next;
		struct timespec wait = { 0, fmax(0, until - t) * 1e9 + 1 };
		int count = epoll_pwait2(epoll, events, 64, &wait, 0);
		for (int k = 0; k < count; k++) {
			uint64_t tag = events[k].data.u64;
			int s = (uint32_t)tag;
			if (tag == TAG(LISTENER)) {
				while ((s = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0)
					add(epoll, EPOLLIN, TAG(RECEIVING) | s, s);
			} else if (tag >> 32 == RECEIVING) {
				recv(s, payload, 1 << 24, MSG_TRUNC); // to nowhere
			} else {
				while (send(fd[tag], payload, sizeof payload, MSG_NOSIGNAL) == sizeof payload)
					;
			}
		}
	}

	if (counter("TCPMemoryPressures")) {
		puts("FAILED the guest's memory for TCP is too small");
		fflush(stdout);
		_exit(1);
	}
	double elapsed = now() - begin - since, total = 0, square = 0;
	unsigned retransmissions = 0;
	last = read_queue();
	for (int i = 0; i < started; i++) {
		struct tcp_info f = info(fd[i]);
		double goodput = (f.tcpi_bytes_acked - acked[i]) * 8 / elapsed / 1e6;
		if (detail)
			printf("FLOW %d %.5f %.3f\n", i, goodput, trips[i] / looks);
		total += goodput;
		square += goodput * goodput;
		retransmissions += f.tcpi_total_retrans - resent[i];
	}
	double mean = sum / samples;
	printf("RESULT measured_s=%.3f goodput_mbps=%.5f link_mbps=%.5f jain=%.5f queue_mean=%.4f queue_std=%.4f drops=%u marks=%u packets=%u "
	       "retransmissions=%u timeouts=%ld probes=%ld\n",
	       elapsed, total, (last.sent_bytes - first.sent_bytes) * 8.0 / elapsed / 1e6, total * total / (flows * square), mean,
	       sqrt(fmax(0, squares / samples - mean * mean)), last.drops - first.drops, last.marks - first.marks, last.sent - first.sent,
	       retransmissions, counter("TCPTimeouts") - timeouts, counter("TCPLossProbes") - probes);
	if (trace)
		fclose(trace);
	fflush(stdout);
	_exit(0); // without closing a thousand sockets in virtual time
}
