import { checkPeer } from './running-peer.mjs'

/**
 * Returns the peers that are there and pass MCP traffic rightly, names the others with the reason,
 * and asks each of them only once in a run.
 * @param {import('./running-peer.mjs').Setting & { say: (line: string) => void }} session
 */
export function soundness(session) {
  /** @type {Map<string, string[]>} */
  const known = new Map()
  return {
    /** @param {readonly import('../peers/index.mjs').Peer[]} peers */
    of: async (peers) => {
      for (const peer of peers) {
        if (known.has(peer.name)) continue
        const missing = peer.missing?.(session)
        const faults =
          missing === undefined
            ? (await checkPeer(peer, session)).map((fault) => `is wrong: ${fault}`)
            : [missing]
        known.set(peer.name, faults)
        for (const fault of faults) session.say(`not timed, ${peer.name}: ${fault}`)
      }
      return peers.filter(({ name }) => known.get(name)?.length === 0)
    },
    /** Those that are not timed, by the first reason for it. */
    without: () =>
      [...known].flatMap(([name, [reason]]) => (reason === undefined ? [] : [{ name, reason }])),
  }
}
