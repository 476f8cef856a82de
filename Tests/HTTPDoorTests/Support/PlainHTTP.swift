import PlainHTTP

typealias Connection = PlainHTTP.Connection
typealias Socket = PlainHTTP.Socket
