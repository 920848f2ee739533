/** The measurements of one peer in one round, as the bench keeps them. */
export interface Sample {
  readonly calls: number
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly errors: number
  readonly cpuPerCall: number | undefined
  readonly rss?: number
  readonly late?: { readonly share: number; readonly p50Ms: number; readonly p99Ms: number }
}

/** A peer with all its rounds. */
export interface Measured {
  readonly name: string
  readonly samples: readonly Sample[]
}

/** A target of the bench, judged. */
export interface Verdict {
  readonly what: string
  readonly target: string
  readonly measured: string
  readonly value: number
  readonly met: boolean
}

/** A picture of the bench. */
export interface Picture {
  readonly file: string
  readonly svg: string
  readonly text: string
}

interface BenchModules {
  readonly 'bars.mjs': {
    readonly TARGETS: readonly { readonly section: string; readonly peers: readonly string[] }[]
    readonly judged: (section: string, rows: readonly object[]) => Verdict[]
    readonly verdictTable: (verdicts: readonly Verdict[]) => string
  }
  readonly 'charts.mjs': {
    readonly SKETCHES: readonly { readonly section: string; readonly file: string }[]
    readonly chartsOf: (section: string, rows: readonly object[]) => Picture[]
  }
  readonly 'lib/bar-chart.mjs': {
    readonly scaleEnd: (values: readonly number[], marker: number) => number
  }
  readonly 'lib/open-loop.mjs': {
    readonly openLoop: (load: {
      readonly port: number
      readonly rate: number
      readonly seconds: number
      readonly delayMs?: number
    }) => Promise<Sample>
    readonly summary: (report: object, delayMs?: number) => Sample
  }
  readonly 'lib/report.mjs': {
    readonly addedTable: (rows: readonly Measured[]) => string
    readonly figuresTable: (rows: readonly Measured[], responseBytes?: number) => string
    readonly ratioTable: (rows: readonly Measured[], references: readonly string[]) => string
  }
  readonly 'lib/workloads.mjs': {
    readonly workload: (name: string) => { readonly response: Buffer }
  }
  readonly 'peers/by-command.mjs': {
    readonly byCommand: (name: string, variable: string, summary: string) => PeerByCommand
  }
  readonly 'peers/index.mjs': {
    readonly peersNamed: (names: readonly string[]) => readonly object[]
  }
  readonly 'sections/index.mjs': {
    readonly SECTIONS: readonly { readonly name: string; readonly peers: readonly string[] }[]
  }
}

interface PeerByCommand {
  readonly missing: () => string | undefined
  readonly command: (context: object) => { readonly file: string; readonly args: string[] }
}

/** A part of the bench, which is JavaScript without declarations. */
export async function benchModule<Name extends keyof BenchModules>(
  name: Name,
): Promise<BenchModules[Name]> {
  return (await import(new URL(`../../bench/${name}`, import.meta.url).href)) as BenchModules[Name]
}

/** A peer whose rounds cost so many microseconds a call, all else being equal. */
export function measured(
  name: string,
  cpu: readonly (number | undefined)[],
  more: Partial<Sample> = {},
): Measured {
  const same = { calls: 1000, callsPerSecond: 500, p50Ms: 1, p99Ms: 2, p999Ms: 3, errors: 0 }
  return { name, samples: cpu.map((cpuPerCall) => ({ ...same, cpuPerCall, ...more })) }
}
