// Which modules go into one file, so that what starts with a pod reads few files and only what it needs.

/** What is loaded, one after the other, by the commands that start with a pod or run every few seconds. */
const STARTS = {
  start: ['cli/squall.js'],
  lifecycle: ['cli/commands/pre-stop.js', 'cli/commands/wait-ready.js'],
  redirect: ['cli/commands/redirect.js'],
  run: ['cli/commands/run.js', 'cli/run/run.js'],
  rules: ['cli/run/rules-engine.js'],
}

/** Files by what they may need: each nothing of those behind it. */
const FILES = ['start', 'shared', 'lifecycle', 'redirect', 'run', 'rules']

/** The file that a module goes into, by the starts that need it; undefined leaves it to the bundler. */
function fileOf(/** @type {ReadonlySet<string> | undefined} */ starts) {
  if (starts === undefined) return undefined
  if (starts.has('start')) return 'start'
  const [first, ...others] = FILES.filter((name) => starts.has(name) && name !== 'rules')
  if (others.length > 0) return 'shared'
  return first ?? 'rules'
}

/** Groups for the bundler. @param {string} folder */
export function startChunks(directory) {
  /** @type {ReadonlyMap<string, ReadonlySet<string>> | undefined} */
  let starts
  return FILES.map((file, at) => ({
    debugName: file,
    // What comes first takes what it needs with it, also where others behind it need that as well.
    priority: FILES.length - at,
    name: (/** @type {string} */ id, /** @type {Context} */ context) => {
      // The program itself, which other files must not run by needing something of it.
      if (id === `${directory}cli/squall.js`) return null
      starts ??= startsByModule(directory, context)
      return fileOf(starts.get(id)) === file ? file : null
    },
  }))
}

/**
 * Which starts need each module.
 * @typedef {{ getModuleInfo: (id: string) => { importedIds: readonly string[] } | null }} Context
 * @param {string} folder
 * @param {Context} context
 */
function startsByModule(directory, context) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map()
  const visit = (/** @type {string} */ id, /** @type {string} */ start) => {
    const starts = found.get(id) ?? new Set()
    if (starts.has(start)) return
    found.set(id, starts.add(start))
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) visit(imported, start)
  }
  for (const [start, files] of Object.entries(STARTS)) {
    for (const file of files) visit(directory + file, start)
  }
  return found
}
