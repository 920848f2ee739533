import { setFlagsFromString } from 'node:v8'
import type { FoundRules } from './rules-file.ts'
import { parseFound } from './rules-parser.ts'
import type { RulesVersion } from './rules-version.ts'

/** What a user says of it holds. */
const ASKED_FOR = /--(?:no[-_]?)?(?:opt|turbofan)\b|--jitless|--lite[-_]mode/
let first = !ASKED_FOR.test([...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' '))

/**
 * Makes a version of what was found, between two calls. The first time V8 does not optimize what runs:
 * the reader's loop over characters alone would be hot enough, and the optimizing compiler would come
 * into memory for it, 4 MiB, before a single call has. Edits are read as fast as V8 can.
 */
export function parseHere(found: FoundRules): RulesVersion {
  if (!first) return parseFound(found)
  first = false
  setFlagsFromString('--no-opt')
  try {
    return parseFound(found)
  } finally {
    setFlagsFromString('--opt')
  }
}
