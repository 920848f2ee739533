import type { Phase, PhaseResult } from './phase.ts'
import type { Screen } from './screen.ts'

/** A phase that was played. */
export interface Played {
  readonly phase: Phase
  readonly result: PhaseResult
}

const WORD = 12
const RUN = 'node dist/cli/main.js run --upstream http://127.0.0.1:3000'

/** What a reader should know who sees nothing else of the demo. */
export function showEnd(
  screen: Screen,
  played: readonly Played[],
  seconds: number,
  stays: boolean,
): void {
  const strong = (text: string): string => screen.paint('strong', text)
  screen.rule()
  screen.line(
    ` ${strong('Squall')} is a sidecar for MCP servers. It takes over their port and makes`,
  )
  screen.line(' chosen calls fail, by a rules file that is edited live: see what your agents')
  screen.line(' do then. Of every error it says whether it was injected or the app made it.')
  screen.line()
  screen.line(` Seen in ${seconds.toFixed(1)} s, over real connections on this machine:`)
  for (const part of played) showPart(screen, part)
  screen.line()
  if (!stays) screen.line(` keep it running   ${strong('npm run demo -- --stay')}`)
  screen.line(` on your server    ${strong(RUN)}`)
  screen.line(' read on           README.md')
  screen.rule()
}

function showPart(screen: Screen, { phase, result }: Played): void {
  const ok = result.checks.every((check) => check.ok)
  const word = screen.paint('strong', phase.word.padEnd(WORD))
  result.summary.forEach((text, i) => {
    screen.line(i === 0 ? `  ${screen.mark(ok)} ${word}${text}` : `${' '.repeat(WORD + 4)}${text}`)
  })
}

/** Where everything is, while it stays. */
export interface Places {
  readonly app: string
  readonly squall: string
  readonly metrics: string
}

/** Tells where app and sidecar are, and what to try on them. */
export function showPlaces(screen: Screen, { app, squall, metrics }: Places): void {
  screen.line()
  screen.line(` app      ${app}`)
  screen.line(` Squall   ${squall}`)
  screen.line(` metrics  ${metrics}`)
  screen.line()
  screen.line(' Book a flight through Squall; the app fails one booking in eight:')
  screen.line(`   curl -si ${squall} -H 'content-type: application/json' \\`)
  screen.line(`     -d '{"jsonrpc":"2.0","id":1,"method":"tools/call",`)
  screen.line(`     "params":{"name":"book_flight","arguments":{"to":"Oslo"}}}'`)
  screen.line(` Then ask how the calls ended:`)
  screen.line(`   curl -s ${metrics} | grep squall_calls_total`)
  screen.line()
  screen.line(' Ctrl-C ends both.')
}
