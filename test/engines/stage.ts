import type { Engine } from '../../src/listener/front/front-options.ts'
import { Canaries } from '../../src/listener/faults/canaries.ts'
import { createPlanner } from '../../src/listener/faults/create-planner.ts'
import { Sidecar } from '../../src/listener/sidecar.ts'
import type { SidecarOptions } from '../../src/listener/sidecar-options.ts'
import { Arming } from '../../src/rules/guard/arming.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import type { RulesFile } from '../../src/rules/file/schema.ts'
import { Activity } from './activity.ts'
import { MAX_BODY, MAX_HEADER_SIZE } from './limits.ts'
import type { Echo } from './echo.ts'
import type { Observed } from './observed.ts'
import { Play } from './play.ts'
import { Recorder } from './recorder.ts'
import type { Script } from './script.ts'
import { ScriptedApp } from './scripted-app.ts'
import type { Turns } from './turns.ts'

const LONG = 600_000

const SETTINGS: Omit<SidecarOptions, 'pairs' | 'engine'> = {
  listenTls: undefined,
  upstreamTls: {},
  upstreamServername: undefined,
  upstreamInsecure: false,
  readyWithoutUpstream: false,
  strict: false,
  maxHeaderSize: MAX_HEADER_SIZE,
  maxBody: MAX_BODY,
  // Nothing here may depend on how fast the machine is.
  headerTimeout: LONG,
  bodyTimeout: LONG,
  holdTimeout: LONG,
  pendingTtl: LONG,
  upstreamReuse: true,
  upstreamIdle: LONG,
  connectTimeout: LONG,
  clientKeepalive: LONG,
  maxConnections: 10_000,
  overloadReserve: 256,
  maxUpstreamConnections: 10_000,
  maxPending: 20_000,
  maxSessions: 10_000,
  drainTimeout: 1_000,
}

/** One engine with an app behind it. */
export interface Stage {
  play(script: Script): Promise<Observed>
  close(): Promise<void>
}

/** What stages of a campaign share. */
export interface StageParts {
  readonly settings: Partial<Pick<SidecarOptions, 'maxUpstreamConnections'>>
  readonly rules: RulesFile | undefined
  readonly turns: Turns
  readonly echo: Echo
}

/** Starts one engine, with rules or with none that could ever become active. */
export async function startStage(
  engine: Engine,
  { settings, rules, turns, echo }: StageParts,
): Promise<Stage> {
  const activity = new Activity(turns, echo)
  const touch = (): void => activity.touch()
  const recorder = new Recorder(touch)
  const app = new ScriptedApp(touch)
  const appPort = await app.listen()
  const options: SidecarOptions = {
    ...SETTINGS,
    ...settings,
    engine,
    // The scripted app counts its connections.
    diagnose: false,
    pairs: [
      {
        listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
        upstream: { kind: 'tcp', tls: false, host: '127.0.0.1', port: appPort },
      },
    ],
  }
  const faults = rules && {
    rules: isActive(rules),
    listenerOf: () => recorder.faults,
    canaries: new Canaries(),
    createPlanner,
  }
  const sidecar = new Sidecar(options, recorder.telemetry, recorder.logger, faults)
  const [bound] = await sidecar.listen()
  const { port } = bound!
  return {
    play: async (script) => {
      const play = new Play({ script, port, app, recorder, activity })
      await turns.run(play)
      return play.observed()
    },
    close: async () => {
      await sidecar.close()
      await app.close()
    },
  }
}

function isActive(file: RulesFile): ActiveRules {
  const clock = (): number => Date.now()
  const states = new RuleStates()
  const rules = new ActiveRules({ states, arming: new Arming(states, clock), limits: {}, clock })
  rules.take({ kind: 'rules', digest: 'all', file })
  return rules
}
