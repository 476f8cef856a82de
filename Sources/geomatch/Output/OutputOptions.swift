import ArgumentParser

struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, one line for each result or message.")
    var json = false
}
