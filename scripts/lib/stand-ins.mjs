// Small things in the place of large ones that packages load at once, of which Squall uses nothing or next to
// nothing: a start would read each of them every time.

const LEFT_OUT = (/** @type {string} */ part) =>
  `module.exports = new Proxy(function () {}, {
    get() { throw new Error('${part} is not part of the bundled program') },
    construct() { throw new Error('${part} is not part of the bundled program') },
  })`

/** By who asks for it: what is asked for, and what there is in its place. */
const STAND_INS = [
  // Subcommands in files of their own.
  { asker: 'commander', asked: 'node:child_process', code: LEFT_OUT('node:child_process') },
  // Logs that a thread writes.
  { asker: 'pino', asked: 'thread-stream', code: LEFT_OUT('thread-stream') },
  // Logs are written by the program's first thread; the one that reads rules has no log.
  { asker: 'pino', asked: 'worker_threads', code: 'module.exports = { isMainThread: true }' },
  {
    asker: 'sonic-boom',
    asked: 'assert',
    code: 'module.exports = (holds, message) => { if (!holds) throw new Error(message) }',
  },
]
const MARK = '\0squall/stand-in/'

/** For the bundler, which fails where one of them is in nothing's place any more. */
export function standIns() {
  const used = new Set()
  return {
    name: 'stand-ins',
    resolveId(/** @type {string} */ id, /** @type {string | undefined} */ importer) {
      const at = STAND_INS.findIndex(
        ({ asker, asked }) => asked === id && importer?.includes(`/node_modules/${asker}/`),
      )
      if (at < 0) return null
      used.add(at)
      return `${MARK}${at}`
    },
    load(/** @type {string} */ id) {
      return id.startsWith(MARK) ? (STAND_INS[Number(id.slice(MARK.length))]?.code ?? null) : null
    },
    buildEnd() {
      const unused = STAND_INS.filter((_, at) => !used.has(at))
      if (unused.length === 0) return
      throw new Error(unused.map(({ asker, asked }) => `${asker} has no ${asked}`).join(', '))
    },
  }
}
