import { GENERATED } from './markdown.mjs'

/** The reference of the rules file, from its schema in the code. */
export async function rulesPage(built) {
  const { rulesReferenceMarkdown } = await built('rules/file/reference-doc.js')
  return `${GENERATED}\n\n${rulesReferenceMarkdown()}`
}

/** The JSON Schema of rules files, as the program prints it. */
export async function rulesSchema(built) {
  const { rulesSchemaText } = await built('rules/file/schema.js')
  return rulesSchemaText()
}

/** The JSON Schema of the plans of experiments, as the program prints it. */
export async function experimentSchema(built) {
  const { planSchemaText } = await built('lab/experiment/plan-schema.js')
  return planSchemaText()
}
