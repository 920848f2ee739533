// A file of its own, so that schemas are loaded when they are printed, and not with the commands.
export { policySchemaText, rulesSchemaText } from '#rules'
