// A file of its own, so that the schema is loaded when it is printed, and not with the commands.
export { rulesSchemaText } from '#rules'
