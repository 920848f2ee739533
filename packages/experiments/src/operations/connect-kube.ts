// A file of its own, so that the client is loaded when a cluster is asked, and not with each run.
export { connectKube } from '#kubernetes'
