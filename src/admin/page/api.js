/**
 * Asks for a change; says what is true then, or why it was refused.
 *
 * @returns {Promise<{ body?: import('../api.ts').Changed, error?: string }>}
 */
export async function change(path, token, reason) {
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
  if (response.status === 401) return { error: 'That is not the admin token. Nothing was changed.' }
  const reasons = (body.reasons ?? []).map(({ by, reason: why }) => `${by}: ${why}`)
  return {
    error: [body.error ?? `Refused with status ${response.status}.`, ...reasons].join(' · '),
  }
}
