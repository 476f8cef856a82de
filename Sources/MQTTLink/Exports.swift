// Whoever uses a link names what it says and is given.
@_exported public import MQTTValues
