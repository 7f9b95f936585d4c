struct Failure: Error, Equatable {
    let name: String
}
