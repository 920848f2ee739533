import { setTimeout as wait } from 'node:timers/promises'
import type { LoadClient } from '../../load/clients/load-client.ts'
import { type Check, millis, type Phase, type PhaseResult } from '../phase.ts'
import type { DemoScreen } from '../screen.ts'
import { bounds, type Stage } from '../stage.ts'

/** Kills and restarts the server while a client holds a stream. */
export const life: Phase = {
  key: 'life',
  title: 'The server is killed and restarted',
  async run(stage: Stage, screen: DemoScreen): Promise<PhaseResult> {
    const endpoint = await stage.endpoint()
    const restart = await restartServer(stage, await endpoint.connect())
    await endpoint.close()
    const checks = restartChecks(restart)
    for (const { what, ok } of checks) screen.check(ok, what)
    screen.line(screen.paint('quiet', `   ${restart.reason}`))
    const ok = checks.every((check) => check.ok)
    const text = ok
      ? 'server killed: Squall sent a 502; restarted: first call succeeded'
      : 'the server was killed and restarted, and a check failed'
    return { numbers: { restart }, checks, summary: [{ ok, word: 'honest', text }] }
  },
}

type Restart = Awaited<ReturnType<typeof restartServer>>

function restartChecks(result: Restart): Check[] {
  return [
    {
      what: `the client's stream also broke, ${millis(result.streamBrokeMs)} ms after the kill`,
      ok: result.streamBroke,
    },
    {
      what: `down: ${result.rejected} of ${result.asked} calls got a 502 with Squall’s own error header`,
      ok: result.rejected === result.asked,
    },
    {
      what: `back: the first call succeeded in ${millis(result.recoveredMs)} ms`,
      ok: result.recovered,
    },
  ]
}

const ASKED = 20
const PATIENCE_MS = 10_000

/** Kills the server under a client that holds a stream, and starts it again. */
async function restartServer({ server }: Stage, client: LoadClient) {
  const call = () => client.call('search_docs', { query: 'refunds' }, bounds())
  const stream = await client.hold(bounds().signal)
  const killedAt = performance.now()
  await server.stop()
  const late = wait(PATIENCE_MS, false, { ref: false })
  const streamBroke = await Promise.race([stream?.ended.then(() => true), late])
  const streamBrokeMs = performance.now() - killedAt
  const responses = await Promise.all(Array.from({ length: ASKED }, call))
  const rejected = responses.filter(({ code, fromSquall }) => code === 502 && fromSquall === true)
  await server.start()
  const startedAt = performance.now()
  const recovered = (await call()).kind === 'ok'
  return {
    streamBroke: streamBroke === true,
    streamBrokeMs,
    asked: ASKED,
    rejected: rejected.length,
    /** The reason in the error of a client. */
    reason: responses[0]!.message,
    recovered,
    recoveredMs: performance.now() - startedAt,
  }
}
