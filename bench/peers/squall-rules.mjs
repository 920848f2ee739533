import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { post } from '../lib/check.mjs'

/** The tool that the last rule is about, and that nothing but the question for it calls. */
const ASKED = 'asked_whether_rules_are_active'
const PATIENCE_MS = 10_000

/**
 * A share of all calls that is delayed.
 * @typedef {{ percent: number, delayMs: number }} Delay
 */

/** @typedef {{ delay?: Delay | undefined, asked?: boolean }} Own  rules that are not about nothing */

/**
 * Writes so many rules: none of them matches what the load generator calls but for that delay.
 * @param {string} directory
 * @param {number} count
 * @param {Delay} [delay]
 * @returns {string} the file
 */
export function writeRules(directory, count, delay) {
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'rules.yaml')
  writeFileSync(file, rulesText(count, { delay }))
  return file
}

/**
 * So many rules as text.
 * @param {number} count
 * @param {Own} [own]
 */
export function rulesText(count, { delay, asked = true } = {}) {
  const own = []
  if (asked) {
    own.push(
      `  - name: asked\n    match: { tool: ${ASKED} }\n    faults: [abort: { toolError: active, at: request }]\n`,
    )
  }
  if (delay !== undefined) {
    own.push(
      `  - name: late\n    match: { tool: echo }\n    percent: ${delay.percent}\n    faults: [delay: { fixed: ${delay.delayMs}ms }]\n`,
    )
  }
  const others = Array.from({ length: count - own.length }, (_, n) => {
    const match = [
      `tool: other_${n}`,
      `tool: 'other_${n}_*'`,
      `tool: '*', headers: { x-other: '${n}' }`,
    ]
    return `  - name: rule-${n}\n    match: { ${match[n % 3]} }\n    percent: 30\n    faults: [delay: { fixed: 2s }]\n`
  })
  return `rules:\n${others.join('')}${own.join('')}`
}

/**
 * Waits until the rules are active: the call that the last of them is about meets its fault.
 * @param {number} port
 */
export async function activeRules(port) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const deadline = Date.now() + PATIENCE_MS
  try {
    while (Date.now() < deadline) {
      if (await isActive(port, agent)) return
      await sleep(50)
    }
  } finally {
    agent.destroy()
  }
  throw new Error(`the rules are not active after ${PATIENCE_MS} ms`)
}

/**
 * Returns true if the fault of the last rule is injected into a call that the rule matches.
 * @param {number} port
 * @param {Agent} agent
 */
export async function isActive(port, agent) {
  const params = { name: ASKED, arguments: {} }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const { headers } = await post(port, agent, body)
  return headers['x-squall-fault'] !== undefined
}
