// swift-tools-version: 6.2
import PackageDescription

let center = Target.Dependency.product(name: "NotifyCenter", package: "notifyd")
let foundation = Target.Dependency.product(name: "NotifyFoundation", package: "notifyd")

let package = Package(
    name: "CenterBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "notifyd", path: "../../..")],
    targets: [
        .executableTarget(name: "compare", dependencies: [center, foundation]),
        .executableTarget(name: "allocations", dependencies: [center, "MallocCounter"]),
        .target(name: "MallocCounter"),
    ]
)
