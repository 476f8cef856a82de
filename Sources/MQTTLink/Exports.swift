// Callers of a link name the types of what it is given and reports.
@_exported public import MQTTValues
