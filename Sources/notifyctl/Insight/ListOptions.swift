import ArgumentParser

/// The output options of commands that list what the daemon holds.
struct ListOptions: ParsableArguments {
    @Flag(help: "Print one JSON object for each line of the table, on a line of its own.")
    var json = false

    @Flag(help: "Print repeatedly, once per second by default. On a terminal, tables are redrawn in place.")
    var watch = false
}
