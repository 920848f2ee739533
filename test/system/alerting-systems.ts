import type { Changes } from '../../packages/experiments/test/experiment/stage.ts'
import type { Moment } from './experiment-clock.ts'
import { PASSED, type ScriptedSystem, system, type Wanted } from './scripted-systems.ts'

const UNNOTICED: Wanted = { verdict: 'unnoticed', code: 'UNNOTICED', stage: '20%' }

/** A plan of one stage that expects an alert; the test adds the URL of Alertmanager. */
function expects(alert: object): Changes {
  return { stages: ['20%'], expect: { alert: { name: 'McpErrorsHigh', ...alert } } }
}

const inStages = ({ stage }: Moment): boolean => stage >= 0 && stage < Infinity

/** Alertmanager is asked twice after the limit before the alert fires, however late it is asked. */
function late(): ScriptedSystem {
  let asked = 0
  return system({
    title: 'holds, although its alert is late',
    fires: (moment) => {
      if (!inStages(moment)) asked = 0
      else if (moment.sinceStage > 1000) asked++
      return asked > 2
    },
    plan: { ...expects({ within: '1s' }), hold: '12s' },
    wanted: UNNOTICED,
  })
}

/** Systems with an alert, whose verdict depends on when the alert fires and resolves. */
export const ALERTING: readonly ScriptedSystem[] = [
  system({
    title: 'holds, and whose alert fires in time and resolves',
    fires: (moment) => inStages(moment) && moment.sinceStage > 300,
    plan: expects({ within: '10s', resolved: '10s' }),
    wanted: PASSED,
  }),
  system({
    title: 'holds, and whose alert fires in the first of two stages',
    fires: ({ stage }) => stage === 0,
    plan: { ...expects({ within: '2s' }), stages: ['10%', '25%'], hold: '2s' },
    wanted: PASSED,
  }),
  system({
    title: 'holds, although its alert is missing',
    fires: () => false,
    plan: expects({ within: '1500ms' }),
    wanted: UNNOTICED,
  }),
  late(),
  system({
    title: 'holds, although its alert begins only after the rollback',
    fires: ({ stage }) => stage === Infinity,
    plan: expects({ within: '1500ms' }),
    wanted: UNNOTICED,
  }),
  system({
    title: 'holds, although its alert does not resolve',
    fires: ({ stage }) => stage >= 0,
    plan: expects({ within: '10s', resolved: '1s' }),
    wanted: { verdict: 'failed', code: 'NOT_RESOLVED', stage: null },
  }),
  system({
    title: 'holds, although its alert resolves late',
    fires: (moment) =>
      inStages(moment) || (moment.sinceRollback > 0 && moment.sinceRollback < 6000),
    plan: expects({ within: '10s', resolved: '1s' }),
    wanted: { verdict: 'failed', code: 'NOT_RESOLVED', stage: null },
  }),
  system({
    title: 'breaks, and whose alert is missing',
    fires: () => false,
    plan: { ...expects({ within: '1500ms' }), slo: { success: '99.9%' } },
    wanted: UNNOTICED,
  }),
  system({
    title: 'breaks, and whose alert fires in time',
    fires: inStages,
    plan: { ...expects({ within: '10s' }), slo: { success: '99.9%' } },
    wanted: { verdict: 'failed', code: 'SLO', stage: '20%' },
  }),
  system({
    title: 'has its alert before the experiment',
    fires: () => true,
    plan: expects({ within: '10s' }),
    wanted: { rejected: ['ALERT_ALREADY_FIRES'] },
  }),
]
