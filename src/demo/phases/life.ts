import { millis } from '../format.ts'
import type { Check, Phase, PhaseResult } from '../phase.ts'
import { PlainClient } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import type { Stage } from '../stage.ts'
import { drainUnderWay, type DrainResult } from './life-drain.ts'
import { restartApp, type RestartResult } from './life-restart.ts'

/** The app goes and comes back, and Squall ends without cutting a call. */
export const life: Phase = {
  key: 'life',
  title: 'Things come and go',
  word: 'steady',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    screen.line('   A client holds a stream open and the app is killed; later it comes back.')
    const client = new PlainClient(stage.sidecar.port, 4)
    const restart = await restartApp(stage, client)
    client.close()
    const first = restartChecks(restart)
    for (const { what, ok } of first) screen.check(ok, what)
    screen.line(screen.paint('quiet', `     ${restart.reason}`))
    screen.line('   Then a sidecar is told to stop while a call is under way.')
    const drain = await drainUnderWay(stage)
    const second = drainChecks(drain)
    for (const { what, ok } of second) screen.check(ok, what)
    return {
      numbers: { restart, drain },
      checks: [...first, ...second],
      summary: [...first, ...second].some(({ ok }) => !ok)
        ? ['not everything went as it should: see above']
        : [
            'app killed: 502 that says why; back: first call went through;',
            'told to stop: the call under way was finished first',
          ],
    }
  },
}

function restartChecks(result: RestartResult): Check[] {
  return [
    {
      what: `the stream broke for the client too, ${millis(result.streamBrokeMs)} ms after the kill`,
      ok: result.heardBefore && result.streamBrokeMs < 1_000,
    },
    {
      what: `down: ${result.refused} of ${result.asked} calls got 502, a JSON-RPC error, /readyz ${result.readyWhileDown}`,
      ok: result.refused === result.asked && result.readyWhileDown === 503,
    },
    {
      what: `back: the first call went through in ${millis(result.recoveredMs)} ms, /readyz ${result.readyAfter}`,
      ok: result.recovered && result.heardAfter && result.readyAfter === 200,
    },
  ]
}

function drainChecks(result: DrainResult): Check[] {
  return [
    {
      what: `its answer came whole ${millis(result.finishedMs)} ms after the order to stop`,
      ok: result.ending === 'ok' && result.events === 4,
    },
    {
      what: 'no new connection was taken meanwhile, and with the answer it ended',
      ok: result.refusedNew && result.endedMs - result.finishedMs < 2_000,
    },
  ]
}
