import { byId, make, setText } from './dom.js'
import { count, foreign, many, moment } from './format.js'
import { nameCell, note, Table } from './table.js'

const SHOWN = 30
const AGAIN_MS = 2_000
const ORIGINS = {
  real: 'Real',
  injected: 'Injected',
  squall: 'Squall’s own',
  injected_elsewhere: 'Injected elsewhere',
}

/** Shows the errors by kind, with what they say. */
export function createErrorsTable(filter) {
  /** @type {import('../contract/api.ts').Errors} */
  let errors = { total: 0, dropped: 0, errors: [] }
  let askedAt = -Infinity
  let asked = 0
  let sampled = new Map()
  const show = () => {
    const { rule } = filter
    const kinds = errors.errors
      .filter((kind) => rule === undefined || kind.rule === rule)
      .map((kind) => ({ ...kind, samples: sampled.get(keyOf(kind)) ?? kind.samples }))
    table.show(kinds, SHOWN)
    setText(byId('errors-about'), about(kinds, errors))
  }
  const table = new Table('errors', {
    columns: [
      { id: 'call', title: 'Call', by: ({ tool, method }) => tool ?? method },
      { id: 'message', title: 'Message', by: ({ samples }) => samples[0]?.message ?? '' },
      { id: 'origin', title: 'Origin', by: ({ origin }) => ORIGINS[origin] },
      { id: 'count', title: 'Count', by: (kind) => kind.count, number: true },
      { id: 'last', title: 'Last', by: ({ last }) => last },
    ],
    key: (kind) => keyOf(kind),
    create: createRow,
    empty: 'No errors yet.',
    sorted: show,
  })
  return {
    /**
     * Asks for more samples when there are new errors, but not each time.
     *
     * @param {import('../contract/api.ts').LiveEvent} event
     */
    take: async ({ errors: { total } = errors }) => {
      const now = performance.now()
      if (total === asked || now - askedAt < AGAIN_MS) return
      askedAt = now
      const response = await fetch('api/errors').catch(() => undefined)
      if (response?.ok !== true) return
      asked = total
      const found = await response.json()
      sampled = new Map(found.errors.map((kind) => [keyOf(kind), kind.samples]))
    },
    show: (event) => {
      errors = event.errors ?? errors
      show()
    },
  }
}

function about(kinds, { total, dropped }) {
  if (total === 0) return ''
  const shown = kinds.length > SHOWN ? ` ${SHOWN} of ${kinds.length} kinds are shown.` : ''
  const gone =
    dropped > 0 ? ` ${count(dropped)} errors are of kinds that are no longer listed.` : ''
  return `${many(total, 'error')} since the start; equal errors share a row.${shown}${gone}`
}

/** @param {import('../contract/api.ts').ErrorKind} kind */
function keyOf({ method, tool, outcome, origin, status, code, rule, fault }) {
  return JSON.stringify([method, tool, outcome, origin, status, code, rule, fault])
}

/** @param {import('../contract/api.ts').ErrorKind} kind */
function createRow({ method, tool, outcome, origin, status, code, rule, fault }) {
  const number = status ?? code
  // The server did not fail a call that its client gave up.
  const hasLeft = outcome === 'abandoned' && origin === 'real'
  const kind = number === undefined ? outcome : `${outcome} ${number}`
  const by =
    rule === undefined ? [] : [make('small', {}, `${foreign(rule)} · ${foreign(fault, 40)}`)]
  const message = make('span', { class: 'message' })
  const summary = make('summary')
  const list = make('ul', { class: 'plain samples' })
  const details = make('details', {}, summary, list)
  const last = make('time')
  const number_ = make('td', { class: 'number' })
  const row = make(
    'tr',
    { 'data-origin': hasLeft ? 'client' : origin },
    nameCell(foreign(tool ?? method), note(foreign(kind, 60))),
    make('td', {}, message, details),
    make(
      'td',
      {},
      make(
        'span',
        { class: 'origin' },
        hasLeft ? 'Client left' : (ORIGINS[origin] ?? foreign(origin)),
      ),
      ...by,
    ),
    number_,
    make('td', { class: 'time' }, last),
  )
  let before = ''
  /** @param {import('../contract/api.ts').ErrorKind} now */
  const update = (now) => {
    setText(number_, count(now.count))
    setText(last, moment(now.last))
    const text = JSON.stringify(now.samples)
    if (text === before) return
    before = text
    setText(message, said(now.samples[0]))
    setText(summary, many(now.samples.length, 'sample'))
    list.replaceChildren(...now.samples.map(showSample))
  }
  return { row, update }
}

/** @param {import('../contract/api.ts').ErrorKind['samples'][number] | undefined} sample */
function said(sample) {
  return sample?.message === undefined ? 'No message' : foreign(sample.message, 250)
}

/** @param {import('../contract/api.ts').ErrorKind['samples'][number]} sample */
function showSample(sample) {
  const { at, client, session, id, trace, traceUrl } = sample
  const facts = [
    client !== undefined && foreign(client, 80),
    session !== undefined && `session ${foreign(session, 20)}`,
    id !== undefined && `id ${foreign(JSON.stringify(id), 70)}`,
    trace !== undefined && `trace ${foreign(trace, 40)}`,
  ].filter(Boolean)
  const shown = note([moment(at), ...facts].join(' · '))
  if (traceUrl !== undefined && /^https?:/.test(traceUrl)) {
    const link = { href: traceUrl, target: '_blank', rel: 'noopener noreferrer' }
    shown.append(' ', make('a', link, 'Show trace'))
  }
  return make('li', {}, make('span', { class: 'message' }, said(sample)), shown)
}
