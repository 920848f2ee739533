import { rulesJsonSchema } from '../../rules/file/schema.ts'

/** The JSON Schema of rules files, as `squall schema` prints it. */
export function schemaCommand(): string {
  return `${JSON.stringify(rulesJsonSchema(), null, 2)}\n`
}
