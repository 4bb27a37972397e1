module github.com/trainmedic/trainmedic

go 1.26
