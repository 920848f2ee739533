import { existsSync } from 'node:fs'
import { activeRules, writeRules } from './squall-rules.mjs'

/** The number of rules for the headline figures. */
const USUAL_RULES = 20

/** As in the image: one arena for all threads, and what is free at its end goes back at once. */
const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
}

/**
 * This project as built, its metrics on.
 * @param {string} name
 * @param {{ rules?: number, engine?: string, delay?: import('./squall-rules.mjs').Delay,
 *   main?: { variable: string },
 *   flags?: readonly string[] }} [setting]  main: the variable that names another version's main module
 * @returns {import('./index.mjs').Peer}
 */
export function squallWith(name, { rules = USUAL_RULES, engine, delay, main, flags = [] } = {}) {
  const lateness = delay ? `, ${delay.percent} % of calls delayed by ${delay.delayMs} ms` : ''
  return {
    name,
    summary: `this project, ${rules} rules${engine ? `, engine ${engine}` : ''}${lateness}`,
    missing: ({ squallMain }) => {
      const file = mainModule(main, squallMain)
      if (file === undefined) return `${main?.variable} does not name the main module of a version`
      return existsSync(file) ? undefined : `${file} is not there (npm run build)`
    },
    command: ({ port, upstreamPort, directory, squallMain, rulesFile }) => {
      const file = rulesFile ?? (rules > 0 ? writeRules(directory, rules, delay) : undefined)
      const places = [
        '--listen',
        `127.0.0.1:${port}`,
        '--upstream',
        `http://127.0.0.1:${upstreamPort}`,
      ]
      return {
        file: process.execPath,
        env: MALLOC,
        args: [
          // As in the image, and as the injector starts it; the standard path leaves more behind.
          ...(engine === 'standard' ? [] : ['--max-semi-space-size=2']),
          mainModule(main, squallMain) ?? squallMain,
          'run',
          ...places,
          '--admin',
          '127.0.0.1:0',
          ...flags,
          ...(engine === undefined ? [] : ['--engine', engine]),
          ...(file === undefined ? [] : ['--rules', file]),
        ],
      }
    },
    ready: async ({ port, rulesFile }) => {
      if (rules > 0 && rulesFile === undefined) await activeRules(port)
    },
  }
}

/**
 * @param {{ variable: string } | undefined} main
 * @param {string} squallMain
 */
function mainModule(main, squallMain) {
  return main === undefined ? squallMain : process.env[main.variable]
}

/** With 20 rules that match nothing, as the targets are meant. */
export const squall = squallWith('squall')
