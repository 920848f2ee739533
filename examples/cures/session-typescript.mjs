// Starts a new session when the server has lost the old one, and repeats the call.
// For SDK v1 and v2: const callTool = inSessions(async () => { …; await client.connect(…); return client })

export function inSessions(connect) {
  let session
  return async function callTool(params) {
    const used = (session ??= connect())
    try {
      return await (await used).callTool(params)
    } catch (error) {
      // Only 404 means that the session is lost.
      if ((error.status ?? error.code) !== 404) throw error
      // Calls that fail at the same time share one new session.
      if (session === used) session = connect()
      return (await session).callTool(params)
    }
  }
}
