import { makeCheck } from '#checks/result'
import { isRecord } from '../../../base/values.ts'
import { LoadError } from '../load-error.ts'
import { LOAD_SCHEMA, type LoadResult } from './result.ts'

const fits = makeCheck(() => ({}))

/** Parses a result file. Throws a `LoadError`. */
export function parseResult(source: string, file: string): LoadResult {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    throw bad(file, 'is no JSON')
  }
  const schema = isRecord(value) ? value['schema'] : undefined
  if (typeof schema === 'string' && schema !== LOAD_SCHEMA) {
    throw bad(file, `has schema ${schema.slice(0, 40)} and not ${LOAD_SCHEMA}`)
  }
  if (schema === undefined || !fits(value)) {
    throw bad(file, 'is no result of squall load')
  }
  const result = value as LoadResult
  if (Number.isNaN(Date.parse(result.run.startedAt))) throw bad(file, 'has no valid start')
  return result
}

function bad(file: string, why: string): LoadError {
  return new LoadError('CANNOT_MERGE', `${file} ${why}`, 'give files that squall load --out wrote')
}
