import { byId, make, setFacts, setText } from './dom.js'
import { foreign, many, moment, span } from './format.js'

const WHO = {
  environment: 'the environment',
  operator: 'an operator',
  guard: 'the guard',
  'rollback-on': '--rollback-on',
  stopped: 'squall stop',
  draining: 'the shutdown of this process',
  file: 'the rules file',
}

/** Shows whether rules may act and why not, and announces changes to screen readers. */
export function createStateCard() {
  const card = byId('state')
  const reasons = byId('reasons')
  const announce = byId('announce')
  let before
  let where = ''
  /** @type {import('../contract/api.ts').LiveEvent | undefined} */
  let snapshot

  /** @param {Pick<import('../contract/api.ts').State, 'armed' | 'reasons'>} arming */
  const showArming = ({ armed, reasons: list }) => {
    const word = armed ? 'Armed' : 'Disarmed'
    card.dataset.armed = String(armed)
    setText(byId('armed'), word)
    const texts = list.map(
      ({ by, reason, at }) =>
        `By ${WHO[by] ?? foreign(by)}, ${moment(at)}: ${foreign(reason, 300)}`,
    )
    const spoken = `${word}. ${texts.join(' ')}`
    if (before !== undefined && spoken !== before) setText(announce, spoken)
    if (spoken !== before) reasons.replaceChildren(...texts.map((text) => make('li', {}, text)))
    before = spoken
    if (snapshot !== undefined) {
      setText(byId('armed-about'), about({ ...snapshot.state, armed }, snapshot.rules))
    }
    document.title = `${word}${where} · Squall`
  }

  return {
    showArming,
    /** @param {import('../contract/api.ts').LiveEvent} now */
    show: (now) => {
      snapshot = now
      const { state } = now
      showArming(state)
      setFacts(byId('place'), placeOf(state))
      if (state.pod !== undefined) where = ` · ${foreign(state.pod, 60)}`
      byId('foreign-markers').hidden = state.foreignMarkers !== 'ignored'
      byId('changes').hidden = !state.canChange
      byId('no-changes').hidden = state.canChange
    },
  }
}

/**
 * @param {import('../contract/api.ts').LiveEvent['state']} state
 * @param {import('../contract/api.ts').Rules} rules
 */
function about({ armed, dryRun, activeFaults, maxActiveFaults }, { count }) {
  const most = maxActiveFaults === null ? '' : ` of at most ${maxActiveFaults}`
  const active = `${many(activeFaults, 'fault')}${most} in progress.`
  if (!armed) return `No rule acts. ${active}`
  if (count === 0) return 'Armed, but no rule is active.'
  if (dryRun) return 'Dry run: rules match and count, but do not inject.'
  return `${many(count, 'rule')} may act. ${active}`
}

/**
 * Returns what identifies this sidecar.
 *
 * @param {import('../contract/api.ts').LiveEvent['state']} state
 */
function placeOf({
  pod,
  namespace,
  workload,
  environment,
  listeners = [],
  version,
  uptimeSeconds,
}) {
  const [first] = listeners
  const more = listeners.length > 1 ? ` and ${listeners.length - 1} more` : ''
  return [
    ['Pod', pod],
    ['Namespace', namespace],
    ['Workload', workload],
    ['Environment', environment ?? undefined],
    ['Listens on', first && `${foreign(first.listen)} → ${foreign(first.upstream)}${more}`],
    ['Version', version],
    ['Up', span(uptimeSeconds)],
  ]
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, foreign(value, 300)])
}
