import type { Endpoint, LoadClient } from './load-client.ts'

/** So many clients begin their sessions at a time. */
const AT_ONCE = 20

/** Opens the clients of a load. Rejects when one cannot be opened. */
export async function openClients(endpoint: Endpoint, count: number): Promise<LoadClient[]> {
  const clients: LoadClient[] = []
  try {
    while (clients.length < count) {
      const batch = Math.min(AT_ONCE, count - clients.length)
      const opened = await Promise.allSettled(
        Array.from({ length: batch }, () => endpoint.connect()),
      )
      for (const each of opened) if (each.status === 'fulfilled') clients.push(each.value)
      const failed = opened.find((each) => each.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
    return clients
  } catch (error) {
    await closeClients(clients)
    throw error
  }
}

/** Ends the sessions. Never rejects. */
export async function closeClients(clients: readonly LoadClient[]): Promise<void> {
  for (let i = 0; i < clients.length; i += AT_ONCE) {
    await Promise.allSettled(clients.slice(i, i + AT_ONCE).map((client) => client.close()))
  }
}
