import { byId, setText } from './dom.js'
import { foreign } from './format.js'

const KEY = 'squall-token'

/**
 * Disarms and arms with the token, which stays in this tab and is never in a URL.
 *
 * @param {(changed: import('../contract/api.ts').Changed) => void} onChange
 */
export function listenForChanges(onChange) {
  const token = byId('token')
  const reason = byId('reason')
  const result = byId('changed')
  const buttons = [byId('disarm'), byId('arm')]
  token.value = remembered()

  const run = async (path, done) => {
    const given = token.value.trim()
    if (!/^[\u0021-\u007e]+$/.test(given)) {
      showResult(given === '' ? 'Enter the admin token first.' : 'Wrong admin token.', true)
      token.focus()
      return
    }
    for (const button of buttons) button.disabled = true
    const { body, error } = await change(path, given, reason.value.trim())
    for (const button of buttons) button.disabled = false
    if (error !== undefined) {
      showResult(error, true)
      return
    }
    remember(given)
    reason.value = ''
    showResult(body.changed ? done : `${done} Nothing changed.`, false)
    onChange(body)
  }

  const showResult = (text, isError) => {
    result.dataset.error = String(isError)
    setText(result, foreign(text, 600))
  }

  byId('changes').addEventListener('submit', (event) => event.preventDefault())
  byId('disarm').addEventListener('click', () => void run('api/disarm', 'Disarmed.'))
  byId('arm').addEventListener('click', () => void run('api/arm', 'Armed.'))
}

function remembered() {
  try {
    return sessionStorage.getItem(KEY) ?? ''
  } catch {
    return ''
  }
}

function remember(token) {
  try {
    sessionStorage.setItem(KEY, token)
  } catch {
    // The field still has the token.
  }
}

/**
 * Requests a change; returns the new state, or the reason of the rejection.
 *
 * @returns {Promise<{ body?: import('../contract/api.ts').Changed, error?: string }>}
 */
async function change(path, token, reason) {
  let response
  try {
    response = await fetch(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(reason === '' ? {} : { reason }),
    })
  } catch {
    return { error: 'Squall cannot be reached.' }
  }
  const body = await response.json().catch(() => ({}))
  if (response.ok) return { body }
  if (response.status === 401) return { error: 'Wrong admin token. Nothing was changed.' }
  const reasons = (body.reasons ?? []).map(({ by, reason: why }) => `${by}: ${why}`)
  return {
    error: [body.error ?? `Rejected with status ${response.status}.`, ...reasons].join(' · '),
  }
}
