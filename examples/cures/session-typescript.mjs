// Begins a new session when the server has lost the old one, and repeats the call.
// For SDK v1 and v2: const callTool = inSessions(async () => { …; await client.connect(…); return client })

export function inSessions(connect) {
  let session
  return async function callTool(params) {
    const used = (session ??= connect())
    try {
      return await (await used).callTool(params)
    } catch (error) {
      // Anything but 404 says nothing about the session.
      if ((error.status ?? error.code) !== 404) throw error
      // Calls that fail at the same time begin one session together.
      if (session === used) session = connect()
      return (await session).callTool(params)
    }
  }
}
