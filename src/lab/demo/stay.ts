import { runLoad } from '../load/run-load.ts'
import { optionsOf } from './demo-load.ts'
import { SLOW_SEARCH } from './rules-texts.ts'
import type { Screen } from './screen.ts'
import type { Stage } from './stage.ts'

/** Where everything is, while it stays. */
export interface Places {
  readonly app: string
  readonly squall: string
  readonly page: string
  readonly metrics: string
  readonly rules: string
}

const PER_SECOND = 40

/** Where everything of a stage is. */
export function placesOf({ app, sidecar, rules }: Stage): Places {
  const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`
  return {
    app: at(app.port, '/mcp'),
    squall: at(sidecar.port, '/mcp'),
    page: at(sidecar.adminPort, '/'),
    metrics: at(sidecar.adminPort, '/metrics'),
    rules: rules.file,
  }
}

/** Tells where everything is, and what to try. */
export function showPlaces(screen: Screen, { app, squall, page, rules }: Places): void {
  const strong = (text: string): string => screen.paint('strong', text)
  screen.line()
  screen.line(` page    ${strong(page)}`)
  screen.line(` rules   ${strong(rules)}`)
  screen.line(` Squall  ${squall}`)
  screen.line(` app     ${app}`)
  screen.line()
  screen.line(` ${PER_SECOND} calls a second go on, and the app fails by itself now and then.`)
  screen.line(' Look at the page, change a percent: in the rules file, save, and look again.')
  screen.line(` Or in a terminal:  squall top ${new URL(page).host}`)
  screen.line()
  screen.line(' Ctrl-C ends it all.')
}

/** Keeps a gentle load going until it is stopped. */
export async function goOn(stage: Stage, stop: AbortSignal): Promise<void> {
  stage.app.failing = true
  await stage.edit(SLOW_SEARCH)
  const options = optionsOf(stage, { seed: 1, durationMs: 0 })
  const { durationMs: _, ...pace } = options.pace
  const gentle = { ...options, pace: { ...pace, rate: PER_SECOND } }
  await runLoad(gentle, { stop, cut: stop })
}
