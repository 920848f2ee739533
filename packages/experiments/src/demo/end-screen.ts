import { asInvoked, integerText, percentage, plainNumber, type Tone } from '#base'
import { endingsOf } from '../report/endings.ts'
import { type DemoRun, faultsSeen, type Phase, type PhaseResult } from './phase.ts'
import type { DemoScreen } from './screen.ts'

/** A phase that was played. */
export interface Played {
  readonly phase: Phase
  readonly result: PhaseResult
}

/** The facts on the end screen beside the results. */
export interface EndFacts {
  readonly seconds: number
  readonly stays: boolean
  /** Where the report is; undefined when none was written. */
  readonly report: string | undefined
}

const WORD = 11
const NAME = 25
const CELL = 13

/** Shows the results to a reader who sees nothing else of the demo. */
export function showEnd(screen: DemoScreen, played: readonly Played[], facts: EndFacts): void {
  const strong = (text: string): string => screen.paint('strong', text)
  const runs = played.flatMap(({ result }) => (result.run === undefined ? [] : [result.run]))
  screen.rule()
  screen.line(
    ` ${strong('Squall')} runs in front of an MCP server and injects faults into selected calls;`,
  )
  screen.line(' the rules file reloads live. Every error is labelled injected or real.')
  screen.line()
  for (const line of conclusion(screen, runs)) screen.line(` ${line}`)
  screen.line()
  for (const line of runTable(screen, runs)) screen.line(` ${line}`)
  for (const line of EXPLAINED) screen.line(screen.paint('quiet', ` ${line}`))
  screen.line()
  for (const part of played) showPart(screen, part)
  screen.line()
  if (facts.report !== undefined) screen.line(` report    ${facts.report}`)
  if (!facts.stays) {
    screen.line(asInvoked(' next      squall demo --stay   its page, load, and rules to edit'))
  }
  screen.line(asInvoked(' try it    squall try --url http://127.0.0.1:3000/mcp'))
  screen.line(
    screen.paint(
      'quiet',
      ` Measured here, over real connections, in ${facts.seconds.toFixed(1)} s.`,
    ),
  )
  screen.rule()
}

/** The one thing to remember, in numbers that were just measured. */
function conclusion(screen: DemoScreen, runs: readonly DemoRun[]): string[] {
  const [, broken, retried] = runs
  if (broken === undefined || retried === undefined) return []
  const { tcsr, blastRadius } = broken.result.indicators
  const strong = (share: number | null): string => screen.paint('strong', percentage(share))
  return [
    `With ${strong(tcsr === null ? null : 1 - tcsr)} of the calls failing, ${strong(blastRadius)} of the 8-call tasks failed;`,
    `with a client that retries, ${strong(retried.result.indicators.blastRadius)}. 2 % is an average: ${faultsSeen(broken.result)} of ${broken.result.counts.calls} had a fault.`,
  ]
}

interface Row {
  readonly name: string
  readonly tone?: Tone
  readonly shown: (run: DemoRun) => string
}

const ROWS: readonly Row[] = [
  { name: 'calls', shown: ({ result }) => integerText(result.counts.calls) },
  { name: 'faults injected', shown: ({ result }) => integerText(faultsSeen(result)) },
  {
    name: 'calls failed: injected',
    tone: 'injected',
    shown: ({ result }) => integerText(endingsOf(result).injected),
  },
  {
    name: '              real',
    tone: 'bad',
    shown: ({ result }) => {
      const { real, unattributed } = endingsOf(result)
      return integerText(real + unattributed)
    },
  },
  { name: 'success        TCSR', shown: ({ result }) => percentage(result.indicators.tcsr) },
  { name: 'availability   ETA', shown: ({ result }) => percentage(result.indicators.eta) },
  {
    name: 'tasks failed   blast',
    tone: 'strong',
    shown: ({ result }) => percentage(result.indicators.blastRadius),
  },
  {
    name: '  by 1 - (1 - e)^8',
    tone: 'quiet',
    shown: ({ result }) => percentage(result.indicators.blastRadiusPredicted),
  },
  { name: 'calls per task TCAF', shown: ({ result }) => plainNumber(result.indicators.tcaf) },
  {
    name: 'retries per task',
    shown: ({ result }) => plainNumber(result.indicators.retriesPerTask),
  },
]

/** Explains the indicators of the table above. */
const EXPLAINED = [
  'TCSR: calls with a correct response in time. ETA: calls with a response, times',
  'correct responses. blast: tasks that failed due to a failed call; below it, the',
  'rate expected from call failure rate e. TCAF: calls per task, without retries.',
] as const

function runTable(screen: DemoScreen, runs: readonly DemoRun[]): string[] {
  const head = runs.map(({ column }) => column.padStart(CELL)).join('')
  const rows = ROWS.map(({ name, tone, shown }) => {
    const cells = runs.map((run) => {
      const text = shown(run)
      const isNone = text === '0' || text === '0 %'
      const painted = tone === undefined || isNone ? text : screen.paint(tone, text)
      return `${' '.repeat(Math.max(0, CELL - text.length))}${painted}`
    })
    return `${name.padEnd(NAME)}${cells.join('')}`
  })
  return [`${' '.repeat(NAME)}${screen.paint('strong', head)}`, ...rows]
}

function showPart(screen: DemoScreen, { result }: Played): void {
  for (const { word, text, ok } of result.summary ?? []) {
    screen.line(` ${screen.marker(ok)} ${screen.paint('strong', word.padEnd(WORD))}${text}`)
  }
}
