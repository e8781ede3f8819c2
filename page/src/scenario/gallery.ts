// The scenarios that are shipped, and the first one that a visitor sees.

const FILES = import.meta.glob('../../../scenarios/*.toml', {
  query: '?raw',
  import: 'default',
  eager: true,
}) as Record<string, string>;

export interface Entry {
  file: string;
  name: string;
  text: string;
}

const ORDER = ['bufferbloat', 'home', 'home-fq-codel', 'compound-red', 'compound-red-200ms', 'bbr-and-cubic'];

function rank(file: string): number {
  const place = ORDER.indexOf(file);
  return place < 0 ? ORDER.length : place;
}

export const GALLERY: Entry[] = Object.entries(FILES)
  .map(([path, text]) => {
    const file = (path.split('/').pop() ?? '').replace('.toml', '');
    const name = /^name = "(.*)"/m.exec(text)?.[1] ?? file;
    return { file, name: name[0]?.toUpperCase() + name.slice(1), text };
  })
  .sort((a, b) => rank(a.file) - rank(b.file) || a.file.localeCompare(b.file));

/** Sixteen Reno flows behind RED: packets, equations and the mean field all have an answer. */
export const FIRST = `# Sixteen Reno flows share 20 Mbit/s behind a RED queue.
# Move the round-trip time until the queue oscillates.

[scenario]
name = "Reno over RED"
duration = "40 s"
measure = "15 s .. 40 s"

[[link]]
name = "bottleneck"
rate = "20 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", capacity = "300 packets", min_threshold = "20 packets", max_threshold = "80 packets", max_probability = 0.1, weight = 0.002 }

[[flows]]
name = "reno"
count = 16
path = ["bottleneck"]
congestion = "reno"
rtt = "40 ms"
start = "uniform 0 s .. 2 s"
`;
