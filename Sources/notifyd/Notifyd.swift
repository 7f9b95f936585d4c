@main struct Notifyd { static func main() {} }
