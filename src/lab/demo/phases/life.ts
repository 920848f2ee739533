import { millis } from '../format.ts'
import type { Check, Phase, PhaseResult } from '../phase.ts'
import { PlainClient } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import type { Stage } from '../stage.ts'
import { restartApp, type RestartResult } from './life-restart.ts'

/** The app goes and comes back under a client that holds a stream. */
export const life: Phase = {
  key: 'life',
  title: 'The app is killed and restarted',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const client = new PlainClient(stage.sidecar.port, 4)
    const restart = await restartApp(stage, client)
    client.close()
    const checks = restartChecks(restart)
    for (const { what, ok } of checks) screen.check(ok, what)
    screen.line(screen.paint('quiet', `     ${restart.reason}`))
    const ok = checks.every((check) => check.ok)
    return {
      numbers: { restart },
      checks,
      summary: [
        {
          ok,
          word: 'honest',
          text: ok
            ? 'app killed: a 502 names it; restarted: the first call succeeded'
            : 'the app was killed and restarted, and a check failed',
        },
      ],
    }
  },
}

function restartChecks(result: RestartResult): Check[] {
  return [
    {
      what: `its stream broke for the client too, ${millis(result.streamBrokeMs)} ms after the kill`,
      ok: result.heardBefore && result.streamBrokeMs < 1_000,
    },
    {
      what: `down: ${result.refused} of ${result.asked} calls got 502 and a JSON-RPC error of Squall’s own`,
      ok: result.refused === result.asked,
    },
    {
      what: `back: the first call went through in ${millis(result.recoveredMs)} ms`,
      ok: result.recovered && result.heardAfter,
    },
  ]
}
