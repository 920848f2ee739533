export { connectKube } from '#kubernetes'
