export { rulesSchemaText } from '#rules'
