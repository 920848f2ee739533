import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { squall } from './squall.mjs'

/**
 * Squall with rules in force, none of which matches what the load generator calls.
 * @param {number} count
 * @returns {import('./index.mjs').Peer}
 */
export function squallWithRules(count) {
  return {
    ...squall,
    name: `squall-${count}-rules`,
    summary: `this project with ${count} rules that match nothing`,
    command: (context) => {
      mkdirSync(context.folder, { recursive: true })
      const rulesFile = join(context.folder, 'rules.yaml')
      writeFileSync(rulesFile, unmatched(count))
      return /** @type {NonNullable<typeof squall.command>} */ (squall.command)({
        ...context,
        rulesFile,
      })
    },
  }
}

/** @param {number} count */
function unmatched(count) {
  const rules = Array.from({ length: count }, (_, n) => {
    const match = [
      `tool: other_${n}`,
      `tool: 'other_${n}_*'`,
      `tool: '*', headers: { x-other: '${n}' }`,
    ]
    return `  - name: rule-${n}\n    match: { ${match[n % 3]} }\n    percent: 30\n    faults: [delay: { fixed: 2s }]\n`
  })
  return `rules:\n${rules.join('')}`
}
