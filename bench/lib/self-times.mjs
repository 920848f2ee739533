/**
 * @typedef {object} CpuProfile
 * @property {{ id: number, callFrame: { functionName: string, url: string, lineNumber: number } }[]} nodes
 * @property {number[]} samples
 * @property {number[]} timeDeltas
 */

/**
 * Time spent in each function itself, as a share of the time that was not idle; largest first.
 * @param {CpuProfile} profile
 */
export function selfTimes({ nodes, samples, timeDeltas }) {
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]))
  /** @type {Map<string, { name: string, where: string, micros: number }>} */
  const functions = new Map()
  let busy = 0
  for (const [i, id] of samples.entries()) {
    const frame = frames.get(id)
    const micros = timeDeltas[i] ?? 0
    if (!frame || frame.functionName === '(idle)') continue
    busy += micros
    const where = `${place(frame.url)}${frame.url === '' ? '' : `:${frame.lineNumber + 1}`}`
    const key = `${frame.functionName} ${where}`
    const entry = functions.get(key) ?? {
      name: frame.functionName || '(anonymous)',
      where,
      micros: 0,
    }
    entry.micros += micros
    functions.set(key, entry)
  }
  return [...functions.values()]
    .map(({ name, where, micros }) => ({ name, where, share: micros / busy }))
    .sort((a, b) => b.share - a.share)
}

/** The part of a module's address that tells one from another. @param {string} url */
function place(url) {
  return url.split('/node_modules/').at(-1)?.split('/').slice(-3).join('/') ?? url
}
